"""The only reader of Hugging Face tokenizers: each becomes a Pipeline, or Unsupported with the reason."""

from ..unicode_tables.bert import BertOptions as BertOptions
from .describe import describe as describe
from .pipeline import (
    AddedToken as AddedToken,
)
from .pipeline import (
    BytePairModel as BytePairModel,
)
from .pipeline import (
    Pipeline as Pipeline,
)
from .pipeline import (
    PostProcessor as PostProcessor,
)
from .pipeline import (
    Refinement as Refinement,
)
from .pipeline import (
    SentencePieceModel as SentencePieceModel,
)
from .pipeline import (
    SpaceNormalizer as SpaceNormalizer,
)
from .pipeline import (
    Template as Template,
)
from .pipeline import (
    Templates as Templates,
)
from .pipeline import (
    Unsupported as Unsupported,
)
from .pipeline import (
    WordPieceModel as WordPieceModel,
)
from .read import read_pipeline as read_pipeline

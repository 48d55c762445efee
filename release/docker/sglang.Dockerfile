# SGLang's image with lopt_plugin. From the repository, after `make wheels`:
#   docker build -f release/docker/sglang.Dockerfile -t sglang-lopt .
#   docker run --gpus all -p 30000:30000 sglang-lopt \
#       sglang serve --host 0.0.0.0 --model-path MODEL --tokenizer-backend lopt
ARG IMAGE=lmsysorg/sglang:v0.5.23
FROM ${IMAGE}
COPY dist/*.whl /tmp/lopt/
# From the wheels alone: nobody else's package of that name is looked for. The image has the other libraries already.
# hadolint ignore=DL3013
RUN python3 -m pip install --no-cache-dir --no-index --no-deps --find-links /tmp/lopt lopt-plugin \
    && python3 -m pip install --no-cache-dir 'typer>=0.19' 'rich>=13' \
    && lopt --version

# vLLM's image with lopt_plugin. From the repository, after `make wheels`:
#   docker build -f release/docker/vllm.Dockerfile -t vllm-lopt .
#   docker run --gpus all -p 8000:8000 vllm-lopt --model MODEL --tokenizer-mode lopt
ARG IMAGE=vllm/vllm-openai:v0.32.0
FROM ${IMAGE}
COPY dist/*.whl /tmp/lopt/
# From the wheels alone: nobody else's package of that name is looked for. The image has the other libraries already.
# hadolint ignore=DL3013
RUN python3 -m pip install --no-cache-dir --no-index --no-deps --find-links /tmp/lopt lopt-plugin \
    && python3 -m pip install --no-cache-dir 'typer>=0.19' 'rich>=13' \
    && lopt --version

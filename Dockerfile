# `lexitree serve` on a CPU, as a user without rights. Nothing but /tmp needs to be writable:
#   docker build -t lexitree .
#   docker run --rm -p 8000:8000 --read-only --tmpfs /tmp lexitree
# Options of the command follow the image: `docker run ... lexitree --workers 2`. Settings are also variables, such as
# LEXITREE_SERVE_WORKERS. docs/guide/deployment.md tells more; deploy/check_container.py tests this file.

FROM python:3.12-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# The compiler makes the kernels; the image does not keep it.
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
RUN python -m venv /opt/lexitree
WORKDIR /source
COPY constraints.txt pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
# The shipped models need no torch on a CPU. EXTRAS=serve,transformers is for models over a transformer.
ARG EXTRAS=serve
RUN /opt/lexitree/bin/pip install -c constraints.txt ".[$EXTRAS]"

FROM python:3.12-slim
RUN useradd --uid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin lexitree
COPY --from=build /opt/lexitree /opt/lexitree
ENV PATH=/opt/lexitree/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp LEXITREE_SERVE_HOST=0.0.0.0
USER 10001:10001
WORKDIR /tmp
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-c", "import os, urllib.request as web; web.urlopen(f\"http://127.0.0.1:{os.environ.get('LEXITREE_SERVE_PORT', 8000)}/live\", timeout=4)"]
ENTRYPOINT ["lexitree", "serve"]

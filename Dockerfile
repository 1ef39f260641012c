# One image for every process of the service: the API by default, the worker and the migration by command.
# docs/operations/deployment.md says how to pin this image by its digest.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Install scripts would generate the database client before its schema is here; it is done below.
RUN npm ci --ignore-scripts --no-audit --no-fund
# .dockerignore lets in nothing but sources.
COPY . .
RUN npx prisma generate --no-hints && npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# To npm the Prisma CLI and TypeScript are wanted by @prisma/client, which does not need them to run: 250 MB.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && npm uninstall prisma typescript --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY prisma/migrations prisma/migrations
COPY prisma/functions prisma/functions
COPY --from=build /app/dist dist
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/api/main.js"]

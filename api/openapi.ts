import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { errorCatalogue } from '../shared/errors.ts';
import type { Api } from './route.ts';

const description = `
Refunds of payments that are held at a payment processor. Money moves at most once per refund, and no refund is lost.

Amounts are whole numbers in the smallest unit of the currency (1050 is 10.50 USD, 1050 JPY is 1050 yen).
Send an \`Idempotency-Key\` with every creation: a repeated request is then carried out once.

Errors have one shape, \`{"error": {"message", "code"}}\`:

| Status | Code | Meaning |
|---|---|---|
${Object.entries(errorCatalogue)
  .map(([code, { status, summary }]) => `| ${status} | \`${code}\` | ${summary} |`)
  .join('\n')}
`.trim();

/** Serves `/openapi.json` and `/docs`, made from the routes that are registered on this instance later. */
export async function describeApi(app: Api): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Refund service',
        version: '1.0.0',
        description,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags: [
        { name: 'Refunds', description: 'Create, follow and cancel refunds.' },
        { name: 'Policies', description: 'Ask whether a payment may be refunded.' },
        { name: 'Health', description: 'For load balancers and operators.' },
      ],
      components: {
        securitySchemes: {
          apiKey: {
            type: 'http',
            scheme: 'bearer',
            description: '`svc_live_...` moves money, `svc_test_...` never does.',
          },
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: (document) => tidy(jsonSchemaTransformObject(document) as OpenApiDocument) as never,
  });
  await app.register(swaggerUi, { routePrefix: '/docs', uiConfig: { tryItOutEnabled: true } });
  app.get(
    '/openapi.json',
    { schema: { hide: true }, config: { rateLimit: false } },
    async (_request, reply) => {
      return reply
        .type('application/json')
        .serializer(JSON.stringify)
        .send(app.swagger() as never);
    },
  );
}

interface OpenApiDocument {
  paths?: Record<
    string,
    Record<string, { requestBody?: { required?: boolean; content?: Record<string, MediaType> } }>
  >;
  components?: { schemas?: Record<string, unknown> };
}

interface MediaType {
  schema?: { anyOf?: { type?: string }[] };
}

/**
 * The generator writes every named schema once for input and once for output, and says that a body which may be left
 * out is required. This takes out what nothing refers to, and mends the second.
 */
function tidy(document: OpenApiDocument): OpenApiDocument {
  for (const path of Object.values(document.paths ?? {})) {
    for (const { requestBody } of Object.values(path)) {
      const schema = requestBody?.content?.['application/json']?.schema;
      if (requestBody !== undefined && schema?.anyOf?.some(({ type }) => type === 'null'))
        requestBody.required = false;
    }
  }
  const schemas = document.components?.schemas ?? {};
  for (let removed = true; removed; ) {
    const text = JSON.stringify(document);
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`));
    for (const name of unused) delete schemas[name];
    removed = unused.length > 0;
  }
  return document;
}

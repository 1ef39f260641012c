import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import Fastify from 'fastify';
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod';
import { errorCatalogue } from '../../shared/platform/errors.ts';
import type { DescribedRoute } from './described-routes.ts';
import { finishDocument, type OpenApiDocument } from './openapi-document.ts';
import type { Api } from './route.ts';

const description = `
Refunds of payments that are held at a payment processor. Money moves at most once per refund, and no refund is lost.

Amounts are whole numbers in the smallest unit of the currency (1050 is 10.50 USD, 1050 JPY is 1050 yen).
Send an \`Idempotency-Key\` with every creation: a repeated request is then carried out once.

Every answer carries an \`x-request-id\`; name it when you ask about a request. Errors have one shape, \`{"error": {"message", "code"}}\`:

| Status | Code | Meaning |
|---|---|---|
${Object.entries(errorCatalogue)
  .map(([code, { status, summary }]) => `| ${status} | \`${code}\` | ${summary} |`)
  .join('\n')}
`.trim();

/** Serves `/openapi.json` and `/docs`, made from the routes of the public API. */
export async function describeApi(app: Api, routes: readonly DescribedRoute[]): Promise<void> {
  const document = await documentOf(routes);
  await app.register(swagger, { mode: 'static', specification: { document: document as never } });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { tryItOutEnabled: true },
    theme: { title: 'Refund service' },
  });
  app.get('/openapi.json', async (_request, reply) => {
    return reply
      .type('application/json')
      .serializer(JSON.stringify)
      .send(document as never);
  });
}

/** The generator reads the routes of the application that it is registered on: here one that has nothing else. */
async function documentOf(routes: readonly DescribedRoute[]): Promise<OpenApiDocument> {
  const app = Fastify();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
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
    transformObject: (document) =>
      finishDocument(jsonSchemaTransformObject(document) as OpenApiDocument) as never,
  });
  for (const route of routes) app.route({ ...route, handler: () => undefined });
  await app.ready();
  return app.swagger() as OpenApiDocument;
}

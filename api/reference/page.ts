import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

/** Without it, phones show the page at the width of a desktop. The generator of the page has no option for it. */
const viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">';

const favicon = readFileSync(join(import.meta.dirname, '..', 'dashboard', 'assets', 'favicon.svg'));

/** Wide content scrolls within its own box, and on phones the columns of a table are stacked. */
const css = `
.swagger-ui .opblock-body pre, .swagger-ui .renderedMarkdown pre { overflow-x: auto; }
.swagger-ui .renderedMarkdown table { display: block; overflow-x: auto; }
.swagger-ui .info .title small { vertical-align: middle; }
@media (max-width: 720px) {
  .swagger-ui .wrapper { padding: 0 12px; }
  .swagger-ui .renderedMarkdown table :is(tbody, tr, td) { display: block; padding: 2px 0; }
  .swagger-ui .renderedMarkdown table thead { display: none; }
  .swagger-ui .renderedMarkdown table tr { padding-bottom: 16px; }
  .swagger-ui .info { margin: 24px 0; }
  .swagger-ui .info .title { font-size: 28px; }
  .swagger-ui .scheme-container { padding: 16px 0; }
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-summary-path { max-width: none; overflow-wrap: anywhere; }
  .swagger-ui .opblock .opblock-summary-description { flex-basis: 100%; overflow-wrap: anywhere; }
  .swagger-ui .opblock .opblock-section-header { flex-wrap: wrap; padding: 8px 12px; }
  .swagger-ui .opblock-description-wrapper { padding: 12px; overflow-wrap: anywhere; }
  .swagger-ui .table-container, .swagger-ui .responses-inner { padding: 12px; }
  .swagger-ui table.parameters, .swagger-ui table.responses-table,
  .swagger-ui table.parameters > tbody, .swagger-ui table.responses-table > tbody,
  .swagger-ui table.parameters > tbody > tr, .swagger-ui table.responses-table > tbody > tr,
  .swagger-ui table.parameters > tbody > tr > td, .swagger-ui table.responses-table > tbody > tr > td {
    display: block; min-width: 0; max-width: 100%; width: auto; padding: 4px 0;
  }
  .swagger-ui table.parameters > thead, .swagger-ui table.responses-table > thead { display: none; }
  .swagger-ui .parameters-col_description input, .swagger-ui .parameters-col_description select,
  .swagger-ui .parameters-col_description textarea { max-width: 100%; box-sizing: border-box; }
  .swagger-ui section.models, .swagger-ui .model-box { overflow-x: auto; max-width: 100%; box-sizing: border-box; }
  .swagger-ui .dialog-ux .modal-ux { min-width: 0; width: calc(100% - 24px); }
}
`;

/** Serves `/docs`, the reference for people, from the document of the instance. */
export async function referencePage(app: FastifyInstance): Promise<void> {
  app.addHook('onSend', async (_request, reply, payload) => {
    const isPage =
      typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html');
    return isPage ? payload.replace('<head>', `<head>${viewport}`) : payload;
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    // Without the bar that carries a logo, which would be the framework's by default.
    uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true },
    logo: { type: 'image/svg+xml', content: favicon },
    theme: {
      title: 'Refund service API',
      css: [{ filename: 'reference.css', content: css }],
      favicon: [
        { filename: 'favicon.svg', rel: 'icon', sizes: 'any', type: 'image/svg+xml', content: favicon },
      ],
    },
  });
}

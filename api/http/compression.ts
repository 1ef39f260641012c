import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyRequest } from 'fastify';

const compress = promisify(gzip);

/** Smaller ones fit few packets, and are not worth the work. */
const leastBytes = 4 * 1024;

/**
 * Compresses large responses for clients that accept gzip. Only for the API: a browser sends no API key by itself, so no page can
 * make it request chosen text beside a secret and learn the secret from the size (BREACH). Pages with sessions stay as they are.
 */
export function compression(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || Buffer.byteLength(payload) < leastBytes) return payload;
    reply.header('vary', 'accept-encoding');
    if (!acceptsGzip(request)) return payload;
    reply.header('content-encoding', 'gzip');
    return await compress(payload);
  });
}

/** Whether a request's Accept-Encoding lists gzip, and not with the weight 0. */
export function acceptsGzip({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return String(headers['accept-encoding'] ?? '')
    .split(',')
    .some((coding) => /^gzip(;q=(?!0(\.0*)?$)[\d.]+)?$/i.test(coding.replaceAll(/\s/g, '')));
}

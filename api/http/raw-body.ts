import type { FastifyError } from 'fastify';
import { ServiceError } from '../../shared/platform/errors.ts';
import type { Api } from './route.ts';

/**
 * Takes bodies of one media type on this instance, as the bytes that arrived, because a signature is of these. Inner
 * instances and those around keep what they take.
 */
export function acceptRawBody(scope: Api, mediaType: string, limitKiB: number): void {
  scope.removeAllContentTypeParsers();
  const options = { parseAs: 'buffer', bodyLimit: limitKiB * 1024 } as const;
  scope.addContentTypeParser(mediaType, options, (_request, body, done) => done(null, body));
  // What is thrown here is answered by the instance around.
  scope.setErrorHandler<FastifyError>((error) => {
    const options = { cause: error };
    if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
      throw new ServiceError('payload_too_large', `body: more than ${limitKiB} KiB.`, options);
    }
    if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
      throw new ServiceError('unsupported_media_type', `Send the body as ${mediaType}.`, options);
    }
    throw error;
  });
}

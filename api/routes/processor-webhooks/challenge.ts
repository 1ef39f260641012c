import { ServiceError } from '../../../shared/platform/errors.ts';
import { findAccount } from '../../../shared/processors/accounts/connections.ts';
import { processorKind, processorNames } from '../../../shared/processors/registry.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { accountParamsSchema } from './receive.ts';

/** `GET /webhooks/<processor>/:accountId`, for processors that first ask whether their webhooks arrive here. */
export function challengeRoutes(app: Api, deps: ApiDependencies): void {
  for (const processor of processorNames) {
    const { challengeParameter } = processorKind(processor).webhooks;
    if (challengeParameter !== null) challengeRoute(app, deps, processor, challengeParameter);
  }
}

function challengeRoute(app: Api, deps: ApiDependencies, processor: string, parameter: string): void {
  app.get(
    `/webhooks/${processor}/:accountId`,
    { schema: { hide: true, params: accountParamsSchema } },
    async (request, reply) => {
      const account = await findAccount(deps.db, processor, request.params.accountId);
      const challenge = (request.query as Record<string, unknown>)[parameter];
      const answer =
        typeof challenge === 'string'
          ? (await deps.connections.connect(account)).answerChallenge(challenge)
          : null;
      if (answer === null) {
        throw new ServiceError('validation_error', `${parameter}: send the challenge of ${processor}, once.`);
      }
      return reply.type('text/plain').send(answer);
    },
  );
}

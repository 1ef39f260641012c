import { createApiKey, revokeApiKey } from '#shared/organizations/api-keys.ts';
import { administer, breakJobs, startWithBadSettings, usePeople } from './operations.ts';
import { useCorrectly, useEchoingProcessors, useWrongly } from './requests.ts';
import type { Site } from './site.ts';

/** Uses every part of the service, also wrongly, with a canary in every input. */
export async function drive(site: Site): Promise<void> {
  const { service } = site.processes;
  const { deps, organization } = service;
  site.trail.keys.push(
    ...Object.values(organization.keys).map(({ plaintext: text }) => ({ what: 'an API key', text })),
  );
  const revoked = await createApiKey(deps, {
    organizationId: organization.id,
    environment: 'test',
    actor: 'test',
  });
  await revokeApiKey(deps, { keyId: revoked.id, actor: 'test' });
  site.trail.keys.push({ what: 'a revoked API key', text: revoked.plaintext });
  await usePeople(site);
  const trace = { LOG_LEVEL: 'trace', CREATE_WAIT_MS: '1500', CANCEL_WAIT_MS: '500' };
  const [api, worker] = await Promise.all([
    site.processes.startApi(trace),
    site.processes.startWorker(trace),
  ]);
  await useCorrectly(site, api);
  await useWrongly(site, api, revoked.plaintext);
  await useEchoingProcessors(site, api);
  await breakJobs(site, api);
  await worker.kill();
  await api.process.stop();
  site.trail.logs.push(['API', api.process.output()], ['worker that was killed', worker.output()]);
  await startWithBadSettings(site);
  await administer(site);
}

import { Readable } from 'node:stream';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import type { DashboardVisitor } from './dashboard/dashboard-visitor.ts';
import type { TestService } from './service.ts';

export interface HeldRequest {
  method: 'POST' | 'PUT';
  url: string;
  fields?: Record<string, string>;
}

/** Sends a form whose body arrives only after `meanwhile`, once the service has processed the headers. */
export async function sendHeld(
  service: TestService,
  visitor: DashboardVisitor,
  { method, url, fields = {} }: HeldRequest,
  meanwhile: () => Promise<unknown>,
): Promise<LightMyRequestResponse> {
  const { text } = await visitor.get('/dashboard/you');
  const token = /name="_csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const headers = {
    cookie: visitor.cookie,
    'content-type': 'application/x-www-form-urlencoded',
    'sec-fetch-site': 'same-origin',
  };
  const body = new URLSearchParams({ ...fields, _csrf: token }).toString();
  return await holdBody(service, { method, url, headers }, body, meanwhile);
}

/** Sends a request whose body arrives only after `meanwhile`, once the service has processed the headers. */
export async function holdBody(
  service: TestService,
  request: InjectOptions,
  body: string,
  meanwhile: () => Promise<unknown>,
): Promise<LightMyRequestResponse> {
  let startReading: () => void = () => undefined;
  const reading = new Promise<void>((resolve) => {
    startReading = resolve;
  });
  const payload = new Readable({ read: () => startReading() });
  const answering = service.app.inject({ ...request, payload });
  // A request that is refused by its headers is never read.
  await Promise.race([reading, answering]);
  try {
    await meanwhile();
  } finally {
    payload.push(body);
    payload.push(null);
  }
  return await answering;
}

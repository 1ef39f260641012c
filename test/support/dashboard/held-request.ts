import { Readable } from 'node:stream';
import type { LightMyRequestResponse } from 'fastify';
import type { TestService } from '../service.ts';
import type { DashboardVisitor } from './dashboard-visitor.ts';

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
  let startReading: () => void = () => undefined;
  const reading = new Promise<void>((resolve) => {
    startReading = resolve;
  });
  const body = new Readable({ read: () => startReading() });
  const answering = service.app.inject({
    method,
    url,
    headers: {
      cookie: visitor.cookie,
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
    },
    payload: body,
  });
  // A request that is refused by its headers is never read.
  await Promise.race([reading, answering]);
  try {
    await meanwhile();
  } finally {
    body.push(new URLSearchParams({ ...fields, _csrf: token }).toString());
    body.push(null);
  }
  return await answering;
}

import { expect } from 'vitest';
import type { ApiAnswer, CallOptions, TestService } from '../service.ts';
import { newPayment } from './payments.ts';

interface Asked extends Record<string, unknown> {
  transactionId?: string;
  processor?: string;
}

interface Sent extends Omit<CallOptions, 'body'> {
  /** How the new payment differs from the usual one. */
  payment?: Record<string, unknown>;
}

/** Asks for a refund of 10.00 USD of a new payment unless the body says otherwise, without waiting for its outcome. */
export async function askForRefund(
  service: TestService,
  body: Asked = {},
  { payment = {}, headers, ...sent }: Sent = {},
): Promise<ApiAnswer> {
  const { processor } = body;
  const traits = { ...(processor === undefined ? {} : { processor }), ...payment };
  const transactionId = body.transactionId ?? (await newPayment(service, traits));
  return await service.call('POST', '/v1/refunds', {
    ...{ ...sent, headers: { prefer: 'respond-async', ...headers } },
    body: { amount: 1_000, reason: 'other', ...body, transactionId },
  });
}

/** The same where it is accepted. @returns the refund as the answer has it. */
export async function newRefund(service: TestService, body: Asked = {}, sent: Sent = {}) {
  const answer = await askForRefund(service, body, sent);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.data;
}

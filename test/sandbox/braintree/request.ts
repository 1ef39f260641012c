import { z } from 'zod';
import type { Account, Answer, Call } from '../exchange.ts';
import type { Refund, Scope } from '../ledger/ledger.ts';
import type { Sandbox } from '../ledger/state.ts';
import { badRequest } from './errors.ts';
import { xmlAnswer } from './xml.ts';

/** A Braintree call that passed its credentials. */
export interface BraintreeRequest {
  account: Account;
  scope: Scope;
  /** The id in the path, '' where there is none. */
  id: string;
  body: string;
}

const transactionBody = z.object({
  transaction: z
    .object({
      amount: z.union([z.string(), z.number()]).transform(String).optional(),
      order_id: z.string().optional(),
      api_request_key: z.string().optional(),
    })
    .default({}),
});

const timeRange = z.object({ min: z.iso.datetime().optional(), max: z.iso.datetime().optional() });

const searchBody = z.object({
  search: z
    .object({
      order_id: z.object({ is: z.string() }).optional(),
      id: z.object({ is: z.string() }).optional(),
      type: z.array(z.string()).optional(),
      status: z.array(z.string()).optional(),
      created_at: timeRange.optional(),
      voided_at: timeRange.optional(),
      ids: z.array(z.string()).optional(),
    })
    .default({}),
});

export type TransactionParameters = z.infer<typeof transactionBody>['transaction'];
export type TimeRange = z.infer<typeof timeRange>;
export type SearchCriteria = z.infer<typeof searchBody>['search'];

export function transactionParameters(body: string): TransactionParameters {
  return parse(transactionBody, body).transaction;
}

export function searchCriteria(body: string): SearchCriteria {
  return parse(searchBody, body).search;
}

function parse<T>(schema: z.ZodType<T>, body: string): T {
  try {
    return schema.parse(body === '' ? {} : JSON.parse(body));
  } catch {
    throw badRequest();
  }
}

/** A void of a sale is in the books too, but it is not a transaction anybody can ask for. */
export function findCredit(sandbox: Sandbox, scope: Scope, id: string): Refund | undefined {
  const refund = sandbox.ledger.refund(scope, id);
  return refund?.kind === 'refund' ? refund : undefined;
}

/** The merchant id in the path is the account, and the public key says whether it is the live one. */
export function authenticate(call: Call): Account | Answer {
  const merchantId = /^\/merchants\/([^/]+)\//.exec(call.path)?.[1];
  const [publicKey, privateKey] = basicCredentials(call.headers.authorization);
  if (!merchantId || !publicKey || !privateKey)
    return xmlAnswer(401, '<error>credentials are missing</error>');
  const credentials = `${publicKey}:${privateKey}`;
  if (credentials.includes('invalid')) return xmlAnswer(401, '<error>credentials are wrong</error>');
  if (credentials.includes('forbidden')) return xmlAnswer(403, '<error>not allowed</error>');
  const environment = publicKey.startsWith('live_') ? 'live' : 'test';
  return { environment, id: `braintree_${environment}_${merchantId}` };
}

function basicCredentials(authorization: string | undefined): string[] {
  const encoded = /^Basic (\S+)$/i.exec(authorization ?? '')?.[1];
  return encoded === undefined ? [] : Buffer.from(encoded, 'base64').toString('utf8').split(':');
}

import { json, type ScriptedServer, type Seen, type Serve } from './scripted-server.ts';

/** Stripe's names of what a restricted key may need, by the requests that need it. */
const needed: readonly [request: RegExp, permission: string][] = [
  [/^GET \/v1\/charges\//, 'rak_charge_read'],
  [/^GET \/v1\/payment_intents\//, 'rak_payment_intent_read'],
  [/^GET \/v1\/disputes/, 'rak_dispute_read'],
  [/^GET \/v1\/refunds/, 'rak_refund_read'],
  [/^POST \/v1\/refunds$/, 'rak_refund_write'],
  [/^POST \/v1\/refunds\/.+\/cancel$/, 'rak_refund_cancel'],
];

export const stripePermissions = needed.map(([, permission]) => permission);

/** A Stripe without payments, for a key that lacks some permissions. It checks the permission before it misses what is named. */
export function restrictedStripe(
  serve: Serve,
  isMissing: (permission: string) => boolean,
): Promise<ScriptedServer> {
  return serve((call, response) => {
    const permission = permissionFor(call);
    if (isMissing(permission)) {
      const message =
        "The provided key 'rk_test_***abc' does not have the required permissions for this endpoint on account 'acct_1'. " +
        `Having the '${permission}' permission would allow this request to continue.`;
      return json(response, 403, { error: { type: 'invalid_request_error', message } });
    }
    const isList = /^\/v1\/(disputes|refunds)\?/.test(call.path);
    if (call.method === 'GET' && isList) {
      return json(response, 200, { object: 'list', data: [], has_more: false, url: call.path });
    }
    const error = { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object.' };
    json(response, 404, { error });
  });
}

function permissionFor({ method, path }: Seen): string {
  return needed.find(([request]) => request.test(`${method} ${path}`))?.[1] ?? 'rak_unknown';
}

import { listAccounts } from './accounts.ts';
import { agentKeyOperations } from './agent-keys.ts';
import { deliveryOperations } from './deliveries.ts';
import { listEvents, listRefundEvents } from './events.ts';
import type { Operation } from './operation.ts';
import { getPayment } from './payments.ts';
import { checkPolicy, replayPolicies } from './policies.ts';
import { batchOperations } from './refund-batches.ts';
import {
  approveRefund,
  cancelRefund,
  createRefund,
  getRefund,
  listRefunds,
  rejectRefund,
  updateRefund,
} from './refunds.ts';
import { endpointOperations } from './webhook-endpoints.ts';

/** All operations of the public API, in the order of its reference. */
export const operations: readonly Operation[] = [
  createRefund,
  getRefund,
  listRefunds,
  updateRefund,
  cancelRefund,
  approveRefund,
  rejectRefund,
  listRefundEvents,
  ...batchOperations,
  getPayment,
  listAccounts,
  listEvents,
  checkPolicy,
  replayPolicies,
  ...agentKeyOperations,
  ...endpointOperations,
  ...deliveryOperations,
];

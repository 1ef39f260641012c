import type { Operation } from '../http/operation.ts';
import { agentKeyOperations } from './agent-keys/agent-key-operations.ts';
import { eventOperations } from './events/event-operations.ts';
import { checkPolicyOperation } from './policies/check.ts';
import { cancelRefundOperation } from './refunds/cancel.ts';
import { createRefundOperation } from './refunds/create.ts';
import { decisionOperations } from './refunds/decide.ts';
import { getRefundOperation } from './refunds/get.ts';
import { listRefundsOperation } from './refunds/list.ts';
import { deliveryOperations } from './webhook-endpoints/delivery-operations.ts';
import { endpointOperations } from './webhook-endpoints/endpoint-operations.ts';

/** All operations of the public API, in the order of its reference. */
export const operations: readonly Operation[] = [
  createRefundOperation,
  getRefundOperation,
  listRefundsOperation,
  cancelRefundOperation,
  ...decisionOperations,
  ...eventOperations,
  checkPolicyOperation,
  ...agentKeyOperations,
  ...endpointOperations,
  ...deliveryOperations,
];

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { z } from 'zod';
import { type AgentLimits, agentLimitsSchema } from '../../../shared/policies/agent-limits.ts';
import { refundReasons } from '../../../shared/refunds/model/reasons.ts';
import { CommandError } from './session.ts';

/** The values of these options. */
export interface AgentLimitOptions extends Omit<AgentLimits, 'currency' | 'reasons'> {
  agentCurrency?: string;
  allowReason?: AgentLimits['reasons'];
}

const { shape } = agentLimitsSchema;

type AmountField = 'maxPerRefund' | 'maxPerPayment' | 'maxPerDay' | 'approvalAbove';

/** Adds the limits of an agent key to a command. Amounts are in minor units. */
export function addAgentLimitOptions(command: Command): Command {
  const amount = (flag: string, field: AmountField, about: string) =>
    new Option(`${flag} <amount>`, about).argParser((text) =>
      checked(shape[field], /^\d+$/.test(text) ? Number(text) : Number.NaN),
    );
  return command
    .addOption(
      new Option(
        '--agent-currency <code>',
        'for agents: the currency of their refunds and of all limits',
      ).argParser((text) => checked(shape.currency, text)),
    )
    .addOption(amount('--max-per-refund', 'maxPerRefund', 'for agents: maximum amount of one refund'))
    .addOption(
      amount(
        '--max-per-payment',
        'maxPerPayment',
        'for agents: maximum amount of all refunds of one payment',
      ),
    )
    .addOption(
      amount('--max-per-day', 'maxPerDay', 'for agents: maximum amount that the key requests in 24 hours'),
    )
    .addOption(
      new Option('--allow-reason <reason...>', 'for agents: the allowed reasons').choices(refundReasons),
    )
    .addOption(
      amount(
        '--approval-above',
        'approvalAbove',
        'for agents: amount above which all refunds of one payment require approval',
      ),
    );
}

/**
 * The limits that were given; null without any.
 * @throws CommandError for limits without a currency.
 */
export function agentLimitsFrom(options: AgentLimitOptions): AgentLimits | null {
  const { agentCurrency, allowReason, maxPerRefund, maxPerPayment, maxPerDay, approvalAbove } = options;
  const limits = { maxPerRefund, maxPerPayment, maxPerDay, reasons: allowReason, approvalAbove };
  if (agentCurrency !== undefined) return { currency: agentCurrency, ...limits };
  if (Object.values(limits).every((limit) => limit === undefined)) return null;
  throw new CommandError('--agent-currency: name the currency of the limits, for example usd.');
}

/** @throws InvalidArgumentError, which names what the schema requires. */
function checked<Value>(schema: z.ZodType<Value>, given: unknown): Value {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  throw new InvalidArgumentError(`It ${error.issues[0]?.message}.`);
}

import { type Command, InvalidArgumentError, Option } from 'commander';
import { isCurrency } from '../../../shared/money/money.ts';
import type { AgentLimits } from '../../../shared/organizations/agent-limits.ts';
import { refundReasons } from '../../../shared/refunds/model/reasons.ts';
import { CommandError } from './session.ts';

/** The values of these options. */
export interface AgentLimitOptions extends Omit<AgentLimits, 'currency' | 'reasons'> {
  agentCurrency?: string;
  allowReason?: AgentLimits['reasons'];
}

/** Adds the limits of a key for agents to a command. Amounts are minor units. */
export function addAgentLimitOptions(command: Command): Command {
  const amount = (flag: string, smallest: bigint, about: string) =>
    new Option(`${flag} <amount>`, about).argParser((text) => readAmount(text, smallest));
  return command
    .addOption(
      new Option('--agent-currency <code>', 'for agents: they may refund in this currency').argParser(
        readCurrency,
      ),
    )
    .addOption(amount('--max-per-refund', 1n, 'for agents: the most of one refund'))
    .addOption(amount('--max-per-payment', 1n, 'for agents: the most of all refunds of one payment'))
    .addOption(amount('--max-per-day', 1n, 'for agents: the most that the key requests in 24 hours'))
    .addOption(
      new Option('--allow-reason <reason...>', 'for agents: these reasons only').choices(refundReasons),
    )
    .addOption(amount('--approval-above', 0n, 'for agents: more than this of one payment requires approval'));
}

/**
 * The limits that were given; null without any.
 * @throws CommandError for limits without a currency.
 */
export function readAgentLimits(options: AgentLimitOptions): AgentLimits | null {
  const { agentCurrency, allowReason, maxPerRefund, maxPerPayment, maxPerDay, approvalAbove } = options;
  const limits = { maxPerRefund, maxPerPayment, maxPerDay, reasons: allowReason, approvalAbove };
  if (agentCurrency !== undefined) return { currency: agentCurrency, ...limits };
  if (Object.values(limits).every((limit) => limit === undefined)) return null;
  throw new CommandError('--agent-currency: name the currency of the limits, for example usd.');
}

function readAmount(text: string, smallest: bigint): bigint {
  const amount = /^\d{1,15}$/.test(text) ? BigInt(text) : -1n;
  if (amount >= smallest) return amount;
  throw new InvalidArgumentError(
    `Give a whole number of minor units, ${smallest} or more (1050 is 10.50 USD).`,
  );
}

function readCurrency(text: string): string {
  const code = text.toLowerCase();
  if (isCurrency(code)) return code;
  throw new InvalidArgumentError('Give an ISO 4217 currency, for example usd.');
}

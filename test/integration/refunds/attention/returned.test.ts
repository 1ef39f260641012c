import { afterEach, expect, test } from 'vitest';
import { dismissFlag } from '#shared/refunds/decisions/resolve.ts';
import { PROCESSORS } from '#test/sandbox/processors.ts';
import { signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { endAtProcessor } from '#test/support/processors/end-at-processor.ts';
import { completedRefund, reviewed, useServiceThatFlags } from '#test/support/refunds/flagged-refunds.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { rowOf } from '#test/support/refunds/refund-records.ts';

const service = useServiceThatFlags();

afterEach(() => expectInvariants(service));

test.each(PROCESSORS)(
  'a refund at %s whose money came back after it had completed needs attention until a person says what was done',
  async (processor) => {
    const refund = await completedRefund(service, processor);
    await endAtProcessor(service, refund, 'failed');
    expect(await reviewed(service, refund.id)).toMatchObject({ status: 'failed', flagReason: 'returned' });
    // That the processor still says so does not mean that the customer has been paid.
    expect(await reviewed(service, refund.id)).toMatchObject({ status: 'failed', flagReason: 'returned' });
    const { visitor } = await signInMember(service, 'operator');
    const page = async () =>
      (await visitor.get(`/dashboard/${service.organization.id}/test/refunds/${refund.id}`)).text;
    const uncertain = 'The customer may have received the money';
    const flaggedPage = await page();
    expect(flaggedPage.match(/pay the customer/gi)).toHaveLength(1);
    expect(flaggedPage).not.toContain(uncertain);
    const flagged = await rowOf(service, refund.id);
    await dismissFlag(service.deps, flagged, 'cli:ada', 'Paid by bank transfer.');
    expect(await rowOf(service, refund.id)).toMatchObject({ status: 'failed', work: null });
    expect(await page()).not.toContain(uncertain);
  },
);

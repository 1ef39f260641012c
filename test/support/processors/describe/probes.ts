import { describe, expect, test } from 'vitest';
import { abilities } from '#shared/processors/contract/processor.ts';
import { connect, options, type ProcessorVariant, useProcessor } from '../processor-variants.ts';

/** What a probe of each ability shows. */
export function describeProbes(variant: ProcessorVariant): void {
  describe(`probes of a processor: ${variant.title}`, () => {
    const { sandbox, control, processor, moved } = useProcessor(variant);
    const probed = abilities.filter((ability) => ability !== 'webhooks');

    test.each(probed)('shows that working credentials permit %s, and moves nothing', async (ability) => {
      expect(await processor.probe(ability, options)).toEqual({ kind: 'permitted', ability });
      for (const id of [variant.ids.missingPayment, 'missing_connection_test', 'ch_missing_connection_test'])
        expect(await moved(id)).toEqual([]);
    });

    test.each(probed)('shows that a permission is missing for %s, or all of them', async (ability) => {
      await control.fault({ processor: variant.name, operation: '*', kind: 'error-403', times: null });
      const denied = { kind: 'misconfigured', scope: 'ability', ability };
      expect(await processor.probe(ability, options)).toMatchObject(denied);
      await control.clearFaults();
      const wrong = connect(variant.name, variant.wrongCredentials, sandbox.url);
      const refused = { kind: 'misconfigured', scope: 'credentials' };
      expect(await wrong.probe(ability, options)).toMatchObject(refused);
    });

    test.each(probed)('shows nothing of %s while the processor fails', async (ability) => {
      for (const kind of ['error-503', 'rate-limit', 'reset']) {
        await control.fault({ processor: variant.name, operation: '*', kind, times: null });
        const answer = await processor.probe(ability, options);
        expect(answer, kind).toMatchObject({ kind: 'unavailable', failure: { message: expect.any(String) } });
        await control.clearFaults();
      }
    });
  });
}

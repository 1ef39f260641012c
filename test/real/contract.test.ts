import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testAnywhere } from '../support/processors/describe/anywhere.ts';
import { measurements } from './findings.ts';
import { fromText, type Recording, Scrubber, toText } from './recording.ts';
import { make, scenarios } from './scenarios.ts';
import { readTestSettings } from './settings.ts';
import { targetsOf } from './targets.ts';

const settings = readTestSettings(process.env);

const targets = targetsOf(settings).map(
  (target) => [target.connectedAccount ?? target.name, target] as const,
);

describe.each(targets)('%s', (_title, target) => {
  const { name } = target;
  beforeAll(() => target.start());
  afterAll(() => target.close());

  testAnywhere(target);
  // Headers are not recorded, so the recordings of a connected account would be the same.
  if (target.connectedAccount !== null) return;

  test.each(Object.entries(scenarios))('answers as recorded: %s', async (scenario, prepare) => {
    const prepared = await prepare(target);
    target.recorder.take();
    const answer = await make(target.processor, prepared);
    const exchanges = target.recorder.take();
    expect(exchanges.length).toBeGreaterThan(0);
    if (settings.recordings !== null) {
      const source = `${target.base}, ${new Date().toISOString().slice(0, 10)}`;
      save(settings.recordings, scenario, { source, processor: name, ...prepared, exchanges, answer });
    }
  });

  test.each(Object.entries(measurements[name] ?? {}))('%s', async (question, measure) => {
    console.log(`FINDING ${name}: ${question} ${await measure(target)}`);
  });
});

/** Saves what passed without anything that belongs to the account. */
function save(folder: string, scenario: string, recording: Recording): void {
  const scrubber = new Scrubber();
  for (const id of idsIn(recording)) scrubber.note(id);
  const exchanges = recording.exchanges.map((each) => scrubber.exchange(each));
  const { given, answer } = recording;
  const scrubbed = fromText(scrubber.text(toText({ given, answer }))) as Pick<Recording, 'given' | 'answer'>;
  mkdirSync(join(folder, recording.processor), { recursive: true });
  const file = join(folder, recording.processor, `${scenario}.json`);
  writeFileSync(file, `${toText({ ...recording, ...scrubbed, exchanges })}\n`);
}

/** Braintree's ids have no prefix, so that only their place tells that they are ids. */
function idsIn({ processor, exchanges, given }: Recording): string[] {
  if (processor !== 'braintree') return [];
  const texts = exchanges.flatMap(({ body }) =>
    [...body.matchAll(/<(?:id|global-id|item|refunded-transaction-id)>([\w-]+)</g)].map(([, id]) => id ?? ''),
  );
  const [first] = given as [string | { transactionId?: string }];
  const named = typeof first === 'string' ? first : (first.transactionId ?? '');
  return [...texts, named].filter((id) => id.length > 4 && !/missing|^(refund|cancel)$/.test(id));
}

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DayDigests, hashOf, rootOf } from '#shared/timeline/hashes.ts';

const page = readFileSync(new URL('../../../docs/operations/timeline.md', import.meta.url), 'utf8');

test('the example of the encoding is right, and is what the service computes', () => {
  const lines = /```\n(\["refund".*?)\n```/s.exec(page)?.[1]?.split('\n') ?? [];
  const texts = lines.filter((_, index) => index % 2 === 0);
  const hashes = lines.filter((_, index) => index % 2 === 1);
  expect(texts.map((text) => createHash('sha256').update(text).digest('hex'))).toEqual(hashes);
  expect(texts.map((text) => hashOf(...JSON.parse(text)))).toEqual(hashes);

  const [, event = '', root] = hashes;
  const [, previousRoot, organizationId, environment, day, eventCount] = JSON.parse(texts[2] ?? '');
  const digests = new DayDigests();
  digests.add({ organizationId, environment, hash: event });
  const [content] = digests.contents();
  if (content === undefined) throw new Error('No day');
  expect(content.eventCount).toBe(Number(eventCount));
  expect(rootOf(day, content, previousRoot)).toBe(root);
  expect(page).toContain(`"root": "${root}"`);
});

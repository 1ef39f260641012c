import { expect, test } from 'vitest';
import { waitsOf } from '../../system/chaos/waits.ts';

const span = (sinceMs: number, untilMs: number) => ({ sinceMs, untilMs });

test.each([
  ['none', [], 100],
  ['before and after it', [span(0, 90), span(210, 300)], 100],
  ['at its beginning', [span(50, 130)], 70],
  ['in its middle, in any order and together', [span(150, 170), span(110, 130), span(120, 160)], 40],
  ['at its end', [span(180, 500)], 80],
  ['throughout', [span(0, 500), span(150, 160)], 0],
])('a request of 100 ms with outages %s', (_when, outages, beyondOutagesMs) => {
  const request = { ...span(100, 200), attempts: ['sent once'] };
  expect(waitsOf([request], outages)).toMatchObject({ longestMs: 100, beyondOutagesMs });
});

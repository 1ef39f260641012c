import { expect, test } from 'vitest';
import { browserWord } from '#api/dashboard/words/words.ts';

const mozilla = 'Mozilla/5.0';
const chromium = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0';

test.each([
  [`${mozilla} (X11; Linux x86_64) ${chromium} Safari/537.36`, 'Chrome on Linux'],
  [
    `${mozilla} (Windows NT 10.0; Win64; x64) ${chromium} Safari/537.36 Edg/140.0.0.0`,
    'Microsoft Edge on Windows',
  ],
  [`${mozilla} (Macintosh; Intel Mac OS X 14.5; rv:131.0) Gecko/20100101 Firefox/131.0`, 'Firefox on macOS'],
  [
    `${mozilla} (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1`,
    'Safari on iOS',
  ],
])('names %s as %s', (userAgent, name) => {
  expect(browserWord(userAgent)).toBe(name);
});

test.each(['curl/8.5.0', '', '\u{1f600}'.repeat(300)])(
  'returns null for the unknown user agent %j',
  (userAgent) => {
    expect(browserWord(userAgent)).toBeNull();
  },
);

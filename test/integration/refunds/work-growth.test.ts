import { expect, test } from 'vitest';
import { redact } from '../../../shared/platform/log.ts';
import { growth } from '../../support/http/growth.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

/** Between the growth of linear work, which is 64, and that of quadratic work, which is 4096. */
const mostGrowth = 1_024;

test.each([
  ['another character and a slash', 'x/'],
  ['nothing else', ''],
])('redirects a dashboard address in linear time: slashes, and then %s', async (_what, end) => {
  const redirected = (length: number) => {
    const url = `/dashboard/${'/'.repeat(length)}${end}`;
    return async () => {
      const { statusCode } = await service.app.inject({ method: 'GET', url });
      expect(statusCode).toBe(308);
    };
  };
  expect(await growth(redirected, 512)).toBeLessThan(mostGrowth);
});

test.each(['a://', 'A://+', 'a.', '/', 'Bearer ', 'Basic  a', 'svc_live_', 'sk_', 'invite_a', '1 '])(
  'redacts text in linear time: %j again and again',
  async (fragment) => {
    const redacted = (length: number) => {
      const text = fragment.repeat(length / fragment.length);
      return () => {
        for (let time = 0; time < 20; time += 1) redact(text);
      };
    };
    expect(await growth(redacted, 64)).toBeLessThan(mostGrowth);
  },
);

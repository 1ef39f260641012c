import { expect, test } from 'vitest';
import { currencies, exponentOf } from '#shared/money/money.ts';
import { toStripeAmount } from '#shared/processors/stripe/amounts.ts';

// What the processors' own lists say. Codes that ISO 4217 has withdrawn are kept there, because old payments are refunded in them.

/** Stripe: currency.go of its Go SDK, and in the last line what https://docs.stripe.com/currencies has beside that. */
const ofStripe =
  'aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bif bmd bnd bob brl bsd bwp bzd cad cdf chf clp cny cop crc cve ' +
  'czk djf dkk dop dzd eek egp etb eur fjd fkp gbp gel gip gmd gnf gtq gyd hkd hnl hrk htg huf idr ils inr isk jmd jpy kes ' +
  'kgs khr kmf krw kyd kzt lak lbp lkr lrd lsl ltl lvl mad mdl mga mkd mnt mop mro mur mvr mwk mxn myr mzn nad ngn nio nok ' +
  'npr nzd pab pen pgk php pkr pln pyg qar ron rsd rub rwf sar sbd scr sek sgd shp sll sos srd std svc szl thb tjs top try ' +
  'ttd twd tzs uah ugx usd uyu uzs vef vnd vuv wst xaf xcd xof xpf yer zar zmw ' +
  'bhd byn jod kwd mmk omr sle tnd xcg';

/**
 * Stripe, same page: the zero-decimal currencies without those that its special cases represent with two decimals (isk, ugx), and the
 * three-decimal ones.
 */
const stripeDecimals: Record<number, string> = {
  0: 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf',
  3: 'bhd jod kwd omr tnd',
};

/**
 * Braintree: https://developer.paypal.com/braintree/docs/reference/general/currencies, as integrations have copied it over the years
 * (frappe/payments, Yuno). https://developer.paypal.com/braintree/docs/guides/fxaas/reference has most of them.
 */
const ofBraintree =
  'aed amd ang aoa ars aud awg azn bam bbd bdt bgn bif bmd bnd bob brl bsd bwp byn bzd cad chf clp cny cop crc cve czk djf dkk dop ' +
  'dzd eek egp etb eur fjd fkp gbp gel ghs gip gmd gnf gtq gyd hkd hnl hrk htg huf idr ils inr isk jmd jpy kes kgs khr kmf krw kyd ' +
  'kzt lak lbp lkr lrd lsl ltl lvl mad mdl mkd mnt mop mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php pkr pln pyg ' +
  'qar ron rsd rub rwf sar sbd scr sek sgd shp sll sos srd std svc syp szl thb tjs top try ttd twd tzs uah ugx usd uyu uzs vef vnd ' +
  'vuv wst xaf xcd xof xpf yer zar zmk zwd';

test.each([
  ['Stripe', ofStripe],
  ['Braintree', ofBraintree],
])('every currency that %s lists can be refunded', (_processor, codes) => {
  expect(codes.split(' ').filter((code) => !currencies.includes(code))).toEqual([]);
});

test.each(ofStripe.split(' '))('an amount of %s has as many decimals at Stripe as it documents', (code) => {
  const decimals = [0, 3].find((count) => stripeDecimals[count]?.split(' ').includes(code)) ?? 2;
  const tenUnits = 10n * 10n ** BigInt(exponentOf(code));
  expect(toStripeAmount(tenUnits, code)).toBe(10 * 10 ** decimals);
});

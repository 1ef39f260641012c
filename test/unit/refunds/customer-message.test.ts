import { describe, expect, test } from 'vitest';
import { customerMessages } from '#shared/refunds/model/customer-message.ts';
import { type CustomerTexts, ownTextsSchema, serviceTexts } from '#shared/refunds/model/customer-texts.ts';

type MessagesOf = ReturnType<typeof customerMessages>;
type Given = Partial<Parameters<MessagesOf>[0] & NonNullable<Parameters<MessagesOf>[1]>>;

const monday = new Date('2026-11-23T10:00:00Z');
const short = {
  started: 'started {amount}',
  actionNeeded: 'actionNeeded {amount}',
  onItsWay: 'onItsWay {amount} {date}',
  reversed: 'reversed {amount}',
  reference: 'reference {reference}',
};

function messages(given: Given, texts: CustomerTexts = { ...serviceTexts, en: short }) {
  const refund = {
    ...{ status: 'processing' as const, amount: 1500n, currency: 'usd' },
    ...unsent,
    ...given,
  };
  const work = { waitingFor: null, flaggedAt: null, cancelRequestedAt: null, ...given };
  return customerMessages(texts)(refund, work);
}
const unsent = { processorStatus: null, acceptedAt: null, completedAt: null, arrival: null };
const accepted = { acceptedAt: monday };
const completed = { status: 'completed', ...accepted, completedAt: monday } as const;

describe('the message to the customer', () => {
  test.each<[what: string, Given, message: string | undefined]>([
    ['awaits approval', { status: 'pending' }, undefined],
    ['failed', { ...completed, status: 'failed' }, undefined],
    ['was cancelled', { status: 'cancelled' }, undefined],
    ['is flagged', { ...completed, flaggedAt: monday }, undefined],
    ['is being cancelled', { ...accepted, cancelRequestedAt: monday }, undefined],
    ['was not sent yet', {}, 'started $15.00'],
    ['is kept at the processor', { ...accepted, waitingFor: 'insufficient_balance' }, 'started $15.00'],
    ['waits for the customer', { ...accepted, waitingFor: 'customer_action' }, 'actionNeeded $15.00'],
    [
      'waits for the customer, which cannot be read',
      { ...accepted, processorStatus: 'requires_action' },
      'actionNeeded $15.00',
    ],
    ['was accepted', accepted, 'onItsWay $15.00 December 7, 2026'],
    [
      'completed, and the bank has a reference',
      { ...completed, arrival: { kind: 'credit', reference: '{date}', referenceType: null } },
      'onItsWay $15.00 December 7, 2026 reference {date}',
    ],
    ['reverses the charge', { ...completed, arrival: { kind: 'reversal' } }, 'reversed $15.00'],
  ])('of a refund that %s: %s', (_what, given, message) => {
    expect(messages(given)?.en).toBe(message);
  });

  test('has amounts and days as each language writes them, with the decimals of the currency', () => {
    const given = { ...completed, amount: 123_456_789_012_345_678n, currency: 'iqd' };
    // Versions of Node differ in which kind of space they write.
    const written = JSON.stringify(messages(given, serviceTexts)).replaceAll(/\s/g, ' ');
    expect(JSON.parse(written)).toEqual({
      en: 'We sent your refund of IQD 123,456,789,012,345.678 to your bank, which usually shows it by December 7, 2026.',
      de: 'Wir haben Ihre Rückerstattung von 123.456.789.012.345,678 IQD an Ihre Bank gesendet. Dort erscheint sie in der Regel bis zum 7. Dezember 2026.',
      fr: "Nous avons envoyé votre remboursement de 123 456 789 012 345,678 IQD à votre banque, qui l'affiche généralement au plus tard le 7 décembre 2026.",
      es: 'Hemos enviado su reembolso de 123.456.789.012.345,678 IQD a su banco, que suele mostrarlo a más tardar el 7 de diciembre de 2026.',
    });
  });
});

describe('the texts of an organization', () => {
  const languages = (count: number) =>
    Object.fromEntries([...'abcdefghijk'].slice(0, count).map((end) => [`a${end}`, short]));

  test('may be ten languages besides those of the service', () => {
    expect(ownTextsSchema.parse({ ...serviceTexts, ...languages(10) })).toEqual(languages(10));
  });

  test('name a wrong language', () => {
    expect(ownTextsSchema.safeParse({ Italian: short }).error?.issues).toMatchObject([
      { path: ['Italian'], message: 'must be a language such as en, pt-BR or zh-Hant' },
    ]);
  });

  test.each([
    ['a text without the amount', { it: { ...short, started: 'In corso' } }],
    ['a text with another name in braces', { it: { ...short, started: '{amount} {card}' } }],
    ['a text of 501 characters', { it: { ...short, started: '{amount}'.padEnd(501) } }],
    ['a text with a NUL character', { it: { ...short, started: '{amount}\0' } }],
    ['a language without all texts', { it: { started: '{amount}' } }],
    ['a further text', { it: { ...short, ended: '{amount}' } }],
    ['eleven languages', languages(11)],
    ['a list', []],
  ])('do not take %s', (_what, texts) => {
    expect(ownTextsSchema.safeParse(texts).success).toBe(false);
  });
});

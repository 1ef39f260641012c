import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { refundBusinessDays } from './arrival.ts';

// The texts of the message to the customer, and what an organization may put in their place.

export type CustomerText = 'started' | 'actionNeeded' | 'onItsWay' | 'reversed' | 'reference';

/** What each text has to name, in braces. It may name nothing else. */
const placeholders: Readonly<Record<CustomerText, readonly string[]>> = {
  /** The refund is not at its processor yet, or is kept there. */
  started: ['amount'],
  /** The processor has asked the customer for details. */
  actionNeeded: ['amount'],
  onItsWay: ['amount', 'date'],
  /** The refund is taken off the original charge, and no credit follows. */
  reversed: ['amount'],
  /** Follows `onItsWay` once the reference of the bank is known. */
  reference: ['reference'],
};

const names = Object.keys(placeholders) as CustomerText[];

/** The texts of one language. */
export type LanguageTexts = Readonly<Record<CustomerText, string>>;

/** By language, as an IETF language tag. */
export type CustomerTexts = Readonly<Record<string, LanguageTexts>>;

/** Every message has all languages, so that their number is bounded. */
export const maxOwnLanguages = 10;

/** Characters of one text. */
const maxTextLength = 500;

function textSchema(name: CustomerText) {
  const expected = placeholders[name];
  const inBraces = expected.map((each) => `{${each}}`).join(' and ');
  return z
    .string({ error: 'must be a text' })
    .max(maxTextLength, `must have at most ${maxTextLength} characters`)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must not contain control characters')
    .refine((text) => {
      const found = [...text.matchAll(/\{([^{}]*)\}/g)].map(([, each = '']) => each);
      return expected.every((each) => found.includes(each)) && found.every((each) => expected.includes(each));
    }, `must contain ${inBraces}, and nothing else in braces`);
}

const languageTag = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?$/;

/**
 * The texts that an organization sets: whole languages, in place of those of the service or besides them. Languages that are as the
 * service has them are left out.
 */
export const ownTextsSchema = z
  .record(
    z.string().regex(languageTag),
    z.strictObject(
      Object.fromEntries(names.map((name) => [name, textSchema(name)])) as Record<
        CustomerText,
        ReturnType<typeof textSchema>
      >,
      {
        error: `must be an object with ${names.join(', ')}`,
      },
    ),
    {
      error: ({ code }) =>
        code === 'invalid_key'
          ? 'must be a language such as en, pt-BR or zh-Hant'
          : 'must be an object of languages',
    },
  )
  .transform(
    (texts): CustomerTexts =>
      Object.fromEntries(
        Object.entries(texts).filter(([language, each]) => !isDeepStrictEqual(each, serviceTexts[language])),
      ),
  )
  .refine(
    (texts) => Object.keys(texts).length <= maxOwnLanguages,
    `must have at most ${maxOwnLanguages} languages of your own`,
  );

/** The texts of the service. */
export const serviceTexts: CustomerTexts = {
  en: {
    started: `We are processing your refund of {amount}. Once it is on its way, your bank usually shows it within ${refundBusinessDays} business days.`,
    actionNeeded:
      'Your refund of {amount} cannot be paid without details from you. Please follow the instructions in the email about it.',
    onItsWay: 'We sent your refund of {amount} to your bank, which usually shows it by {date}.',
    reversed:
      'Your refund of {amount} is taken off the original charge on your statement. No separate credit follows.',
    reference: 'If you cannot find it, give your bank this reference: {reference}.',
  },
  de: {
    started: `Wir bearbeiten Ihre Rückerstattung von {amount}. Sobald sie unterwegs ist, zeigt Ihre Bank sie in der Regel innerhalb von ${refundBusinessDays} Bankarbeitstagen an.`,
    actionNeeded:
      'Für Ihre Rückerstattung von {amount} brauchen wir noch Angaben von Ihnen. Bitte folgen Sie den Anweisungen in der E-Mail dazu.',
    onItsWay:
      'Wir haben Ihre Rückerstattung von {amount} an Ihre Bank gesendet. Dort erscheint sie in der Regel bis zum {date}.',
    reversed:
      'Ihre Rückerstattung von {amount} wird auf Ihrem Kontoauszug von der ursprünglichen Abbuchung abgezogen. Es folgt keine gesonderte Gutschrift.',
    reference: 'Falls Sie sie nicht finden, nennen Sie Ihrer Bank diese Referenz: {reference}.',
  },
  fr: {
    started: `Nous traitons votre remboursement de {amount}. Une fois envoyé, il apparaît généralement sur votre compte sous ${refundBusinessDays} jours ouvrés.`,
    actionNeeded:
      "Votre remboursement de {amount} ne peut pas être versé sans informations de votre part. Veuillez suivre les instructions de l'e-mail à ce sujet.",
    onItsWay:
      "Nous avons envoyé votre remboursement de {amount} à votre banque, qui l'affiche généralement au plus tard le {date}.",
    reversed:
      'Votre remboursement de {amount} est déduit du débit initial sur votre relevé. Aucun crédit distinct ne suivra.',
    reference: 'Si vous ne le trouvez pas, communiquez cette référence à votre banque : {reference}.',
  },
  es: {
    started: `Estamos tramitando su reembolso de {amount}. Una vez enviado, su banco suele mostrarlo en un plazo de ${refundBusinessDays} días hábiles.`,
    actionNeeded:
      'Su reembolso de {amount} no puede pagarse sin algunos datos suyos. Siga las instrucciones del correo electrónico al respecto.',
    onItsWay:
      'Hemos enviado su reembolso de {amount} a su banco, que suele mostrarlo a más tardar el {date}.',
    reversed:
      'Su reembolso de {amount} se descuenta del cargo original en su extracto. No recibirá un abono aparte.',
    reference: 'Si no lo encuentra, facilite esta referencia a su banco: {reference}.',
  },
};

/** The texts in force: those of the service, and of the organization in their place. @param own as stored. */
export function textsInForce(own: unknown): CustomerTexts {
  return { ...serviceTexts, ...(own as CustomerTexts) };
}

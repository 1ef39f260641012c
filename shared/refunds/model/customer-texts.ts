import { z } from 'zod';
import { refundBusinessDays } from './arrival.ts';

// The texts of the message to the customer, and what an organization may put in their place.

/** What each text has to name, in braces. It may name nothing else. */
const placeholders = {
  /** The refund is not at its processor yet, or is kept there. */
  started: ['amount'],
  /** The processor has asked the customer for details. */
  actionNeeded: ['amount'],
  onItsWay: ['amount', 'date'],
  /** The charge disappears, and no credit follows. */
  reversed: ['amount'],
  /** Follows `onItsWay` once the reference of the bank is known. */
  reference: ['reference'],
} as const;

export type CustomerText = keyof typeof placeholders;

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
      const found = [...text.matchAll(/\{([^{}]*)\}/g)].map(([, each]) => each as never);
      return (
        expected.every((each) => found.includes(each as never)) &&
        found.every((each) => expected.includes(each))
      );
    }, `must contain ${inBraces}, and nothing else in braces`);
}

const languageTag = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?$/;

/** The texts that an organization sets: whole languages, in place of those of the service or besides them. */
export const ownTextsSchema = z
  .record(
    z.string().regex(languageTag, 'must be a language such as en, pt-BR or zh-Hant'),
    z.strictObject(
      Object.fromEntries(names.map((name) => [name, textSchema(name)])) as Record<
        CustomerText,
        ReturnType<typeof textSchema>
      >,
      {
        error: `must be an object with ${names.join(', ')}`,
      },
    ),
    { error: 'must be an object of languages' },
  )
  .refine(
    (texts) => Object.keys(texts).length <= maxOwnLanguages,
    `must have at most ${maxOwnLanguages} languages`,
  );

/** The texts of the service. */
export const serviceTexts: CustomerTexts = {
  en: {
    started: `We are processing your refund of {amount}. Once it is on its way, your bank usually shows it within ${refundBusinessDays} business days.`,
    actionNeeded:
      'Your refund of {amount} cannot be paid without details from you. Please follow the instructions in the email about it.',
    onItsWay: 'Your refund of {amount} is on its way. Your bank usually shows it by {date}.',
    reversed:
      'Your refund of {amount} cancels the charge: it disappears from your statement, and no separate credit follows.',
    reference: 'If you cannot find it, give your bank this reference: {reference}.',
  },
  de: {
    started: `Wir bearbeiten Ihre Rückerstattung von {amount}. Sobald sie unterwegs ist, zeigt Ihre Bank sie in der Regel innerhalb von ${refundBusinessDays} Bankarbeitstagen an.`,
    actionNeeded:
      'Für Ihre Rückerstattung von {amount} brauchen wir noch Angaben von Ihnen. Bitte folgen Sie den Anweisungen in der E-Mail dazu.',
    onItsWay:
      'Ihre Rückerstattung von {amount} ist unterwegs. Ihre Bank zeigt sie in der Regel bis zum {date} an.',
    reversed:
      'Ihre Rückerstattung von {amount} hebt die Abbuchung auf: Sie verschwindet von Ihrem Kontoauszug, und es folgt keine gesonderte Gutschrift.',
    reference: 'Falls Sie sie nicht finden, nennen Sie Ihrer Bank diese Referenz: {reference}.',
  },
  fr: {
    started: `Nous traitons votre remboursement de {amount}. Une fois envoyé, il apparaît généralement sur votre compte sous ${refundBusinessDays} jours ouvrés.`,
    actionNeeded:
      "Votre remboursement de {amount} ne peut pas être versé sans informations de votre part. Veuillez suivre les instructions de l'e-mail à ce sujet.",
    onItsWay:
      "Votre remboursement de {amount} est en cours. Votre banque l'affiche généralement au plus tard le {date}.",
    reversed:
      'Votre remboursement de {amount} annule le débit : celui-ci disparaît de votre relevé, sans crédit séparé.',
    reference: 'Si vous ne le trouvez pas, communiquez cette référence à votre banque : {reference}.',
  },
  es: {
    started: `Estamos tramitando su reembolso de {amount}. Una vez enviado, su banco suele mostrarlo en un plazo de ${refundBusinessDays} días hábiles.`,
    actionNeeded:
      'Su reembolso de {amount} no puede pagarse sin algunos datos suyos. Siga las instrucciones del correo electrónico al respecto.',
    onItsWay: 'Su reembolso de {amount} está en camino. Su banco suele mostrarlo a más tardar el {date}.',
    reversed:
      'Su reembolso de {amount} anula el cargo: este desaparece de su extracto y no recibirá un abono aparte.',
    reference: 'Si no lo encuentra, facilite esta referencia a su banco: {reference}.',
  },
};

/** The texts in force: those of the service, and of the organization in their place. @param own as stored. */
export function textsInForce(own: unknown): CustomerTexts {
  return { ...serviceTexts, ...(own as CustomerTexts) };
}

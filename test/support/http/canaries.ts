import { randomBytes } from 'node:crypto';

/** A text that was put somewhere on purpose, to see where it turns up. */
export interface Canary {
  /** Where it was put. */
  what: string;
  text: string;
}

/** Letters and digits that are nowhere else, and that no pattern recognizes as a secret. */
export function newCanary(what: string, prefix = ''): Canary {
  return { what, text: `${prefix}Canary${randomBytes(13).toString('hex')}` };
}

/** A number that passes for that of a card, another one each time. */
export function newCard(what: string, length = 16): Canary {
  const digits = [4, ...randomBytes(length - 2)].map((byte) => byte % 10);
  const sum = digits.toReversed().reduce((total, digit, at) => total + luhn(digit, at), 0);
  return { what, text: [...digits, (10 - (sum % 10)) % 10].join('') };
}

/** The check digit comes behind, so the last of the others counts double. */
function luhn(digit: number, positionFromEnd: number): number {
  if (positionFromEnd % 2 === 1) return digit;
  return digit > 4 ? digit * 2 - 9 : digit * 2;
}

/** One canary that was found. */
export interface Finding {
  canary: string;
  place: string;
  /** As found, with what stands around it. */
  excerpt: string;
}

/** Every canary that a text holds, as it is or in a form that a program may have given it. */
export function findCanaries(canaries: readonly Canary[], place: string, text: string): Finding[] {
  return canaries.flatMap(({ what, text: canary }) => {
    const form = formsOf(canary).find((one) => text.includes(one));
    if (form === undefined) return [];
    const at = text.indexOf(form);
    return [{ canary: what, place, excerpt: text.slice(Math.max(0, at - 120), at + form.length + 40) }];
  });
}

function formsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const inGroups = /^\d+$/.test(text)
    ? [' ', '-', '%20'].map((gap) => text.replace(/\d{4}(?=\d)/g, `$&${gap}`))
    : [];
  return [text, encodeURIComponent(text), bytes.toString('hex'), ...inGroups, ...insideBase64(bytes)];
}

/** What base64 makes of the text when something stands before and behind it: it depends on how much stands before. */
function insideBase64(bytes: Buffer): string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    return encoded.slice(before === 0 ? 0 : before + 1, encoded.length - 2);
  });
}

import fc from 'fast-check';

/** Texts that break what is careless with them: NUL, half surrogates, names that every object has, what databases read. */
const strangeTexts = [
  ...['', ' ', '\0', '\ud800', '\udfff', '\u202e', '\ufeff', '\u2028', '\uffff', '\u0130', 'null', 'NaN'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', '$ref', '$where'],
  ...["' OR 1=1--", '"; DROP TABLE refund; --', '{{7*7}}', '%00', '%0d%0aX: 1', '../../..', '\\', '<!--'],
];

export const hostileText = fc.oneof(
  { arbitrary: fc.string({ unit: 'binary', maxLength: 20 }), weight: 3 },
  { arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }), weight: 3 },
  { arbitrary: fc.constantFrom(...strangeTexts), weight: 4 },
  {
    arbitrary: fc
      .tuple(fc.constantFrom('a', '\u20ac', '\0', '9', '('), fc.constantFrom(41, 256, 5_000, 20_000))
      .map(([unit, length]) => unit.repeat(length)),
    weight: 1,
  },
);

const hostileNumber = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(-0, -1, 0.1, 5e-324, 1e21, 2 ** 31, 2 ** 53, 2 ** 63, Number.MAX_VALUE),
);

/** Any JSON value, also with names and texts that hurt. */
export const hostileValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    hostileNumber,
    hostileText,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(hostileText, tie('value'), { maxKeys: 4 }),
  ),
})).value;

/** Parsed JSON. Tests read what is there and assert on it. */
// biome-ignore lint/suspicious/noExplicitAny: its shape is what the tests are about.
export type ParsedJson = any;

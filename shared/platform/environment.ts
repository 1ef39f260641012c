/** `live` moves real money, `test` never does. Neither sees the other's data. */
export const environments = ['live', 'test'] as const;

export type Environment = (typeof environments)[number];

export function isEnvironment(text: string): text is Environment {
  return environments.some((environment) => environment === text);
}

/** Live moves real money, test never does; nothing of the one is visible from the other. */
export const environments = ['live', 'test'] as const;

export type Environment = (typeof environments)[number];

export function isEnvironment(text: string): text is Environment {
  return environments.some((environment) => environment === text);
}

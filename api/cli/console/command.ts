import type { Command } from 'commander';
import { json, type OptionOf } from './options.ts';
import { type Columns, printList } from './output.ts';
import { type Session, withSession } from './session.ts';

/** Adds a command, or a group of commands, under a name. */
type AddCommand = (parent: Command, name: string) => void;

/** By their names: `maxPerDay` is given as `--max-per-day`. */
type Options = Readonly<Record<string, OptionOf<unknown>>>;

export type ValuesOf<Given extends Options> = {
  [Name in keyof Given]: Given[Name] extends OptionOf<infer Value> ? Value : never;
};

interface Help<Given extends Options> {
  description: string;
  options?: Given;
  /** A text for the end of the help. */
  explanation?: string;
  /** What follows the names of the command. */
  examples?: readonly string[];
}

interface Definition<Given extends Options, Argument extends string | string[]> extends Help<Given> {
  /** What comes before the options, such as `<id>`. */
  argument?: readonly [name: string, description?: string];
  run(session: Session, given: ValuesOf<Given>, argument: Argument, command: Command): Promise<void>;
}

/** A command with the dependencies of the service. */
export function command<
  Given extends Options = Record<never, never>,
  Argument extends string | string[] = string,
>(definition: Definition<Given, Argument>): AddCommand {
  const { description, argument, options, explanation = '', examples = [], run } = definition;
  return (parent, name) => {
    const added = parent.command(name).description(description);
    if (argument !== undefined) added.argument(...argument);
    for (const [key, option] of Object.entries(options ?? {})) {
      added.addOption(option.as(`--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`));
    }
    if (explanation !== '') added.addHelpText('after', explanation);
    addExamples(added, examples);
    added.action(() =>
      withSession((session) =>
        run(session, added.opts<ValuesOf<Given>>(), added.processedArgs[0] as Argument, added),
      ),
    );
  };
}

/** A command that lists items as a table, or as JSON with `--json`. */
export function listing<Item, Given extends Options = Record<never, never>>(
  definition: Help<Given> & {
    read(session: Session, given: ValuesOf<Given>): Promise<readonly Item[]>;
    /** What is said when there are none. */
    empty: string;
    columns: Columns<Item>;
  },
): AddCommand {
  const { read, empty, columns, options, ...help } = definition;
  return command({
    ...help,
    options: { ...(options as Given), json },
    async run(session, given) {
      printList(await read(session, given as ValuesOf<Given>), { json: given.json === true, empty, columns });
    },
  });
}

/** A group of commands, by their names. */
export function commands(description: string, all: Readonly<Record<string, AddCommand>>): AddCommand {
  return (parent, name) => {
    const group = parent.command(name).description(description);
    for (const [each, add] of Object.entries(all)) add(group, each);
  };
}

/** Adds examples to the end of the help of a command. */
export function addExamples(to: Command, examples: readonly string[]): void {
  if (examples.length === 0) return;
  const lines = examples.map((example) => `  $ ${pathOf(to)} ${example}`.trimEnd());
  to.addHelpText('after', `\nExamples:\n${lines.join('\n')}\n`);
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

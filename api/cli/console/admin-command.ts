import { Command } from 'commander';
import { type Session, withSession } from './session.ts';

/** A command with examples in its help, and with an action that has the dependencies of the service. */
export class AdminCommand extends Command {
  override createCommand(name?: string): AdminCommand {
    return new AdminCommand(name);
  }

  /** Adds a text to the end of the help. */
  explanation(text: string): this {
    return this.addHelpText('after', text);
  }

  examples(...lines: string[]): this {
    const examples = lines.map((line) => `  $ npm run -s admin -- ${line}`);
    return this.explanation(`\nExamples:\n${examples.join('\n')}\n`);
  }

  /** @param work also receives the arguments and options of the command. */
  run<Given extends unknown[]>(work: (session: Session, ...given: Given) => Promise<void>): this {
    return this.action(withSession(work) as (...given: unknown[]) => Promise<void>);
  }
}

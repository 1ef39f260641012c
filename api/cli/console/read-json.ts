import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { readStrictJson } from '../../http/body.ts';
import { explain } from './output.ts';
import { CommandError } from './session.ts';

/**
 * Reads JSON from a file, or from stdin if the file is missing or `-`. Errors never quote the content, which may be a
 * secret.
 * @param what the name of the content in messages, such as `credentials`.
 * @throws CommandError if the file cannot be read or is not strict JSON.
 */
export async function readJson(file: string | undefined, what: string): Promise<unknown> {
  const source = file === undefined || file === '-' ? 'stdin' : file;
  const content = source === 'stdin' ? await readStdin(what) : await readNamed(source, what);
  if (content.trim() === '') throw new CommandError(`The ${what} from ${source} are empty.`);
  const reading = readStrictJson(content, () => 'a number in it cannot be stored exactly');
  if (reading.kind === 'valid') return reading.value;
  throw new CommandError(`The ${what} from ${source} cannot be used: ${reading.problem}.`);
}

async function readStdin(what: string): Promise<string> {
  if (process.stdin.isTTY) explain(`Paste the ${what} as JSON, then press Ctrl-D on a line of its own.`);
  return await text(process.stdin);
}

async function readNamed(file: string, what: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
    throw new CommandError(`The ${what} cannot be read from ${file}: ${code}.`);
  }
}

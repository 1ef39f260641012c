import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { explain } from './output.ts';

/** 120 random bits, as twenty letters, digits, dashes and underscores. */
const newPasswordBytes = 15;

/** The password for a command: the first line of stdin with `--password-stdin`, otherwise a new random one. */
export async function choosePassword({
  passwordStdin,
}: {
  passwordStdin?: true;
}): Promise<{ password: string; isNew: boolean }> {
  if (!passwordStdin) return { password: randomBytes(newPasswordBytes).toString('base64url'), isNew: true };
  if (process.stdin.isTTY)
    explain('Type the password, then press Enter and Ctrl-D. It is shown as you type.');
  const [line = ''] = (await text(process.stdin)).split(/\r?\n/, 1);
  return { password: line, isNew: false };
}

import { expect, test, vi } from 'vitest';
import { explain, printData, printFields, printJson, writeLine } from '#api/cli/console/output.ts';

test('the command line writes no control character that a terminal obeys, and JSON keeps its values', async () => {
  const written: string[] = [];
  const note = (text: unknown) => written.push(String(text)) > 0;
  const streams = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation(note as never),
  );
  const text = '\u001b[2J\u009b2J\u007f\rhidden';
  printFields([['name', `${text}\n`]]);
  printData(`a,${text}\r\nb`);
  explain(text);
  await writeLine(text);
  printJson({ text });
  for (const each of streams) each.mockRestore();
  const sent = written.join('');
  expect(sent.replaceAll(/\r?\n/g, '')).not.toMatch(/\p{Cc}/u);
  expect(sent).toContain('\r\nb\n');
  expect(JSON.parse(written.at(-1) ?? '')).toEqual({ text });
});

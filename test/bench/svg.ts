import type { QueueResult, Row } from './results.ts';

const width = 760;
const labelWidth = 250;
/** Of the naked pipeline's bar in every row, because rates of different rows do not compare. */
const nakedLength = 220;
const longest = 400;
const barHeight = 13;
const rowHeight = 38;
const headHeight = 44;
const colors = { service: '#2f6fde', naked: '#b6bdc9', text: '#24292f', muted: '#57606a' };

/** Draws the main tables, with a bar for the service and one for the naked pipeline in each row. */
export function drawSvg(results: readonly QueueResult[]): string {
  let top = 40;
  const panels = results.map((result) => {
    const panel = drawPanel(result, top);
    top += headHeight + result.rows.length * rowHeight;
    return panel;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top + 8}" font-family="system-ui, sans-serif" font-size="13" role="img">
<title>Requests per second of the service and of a pipeline without safety</title>
<rect width="100%" height="100%" fill="#fff"/>
${legend}
${panels.join('\n')}
</svg>
`;
}

const legend = `<rect x="16" y="14" width="12" height="12" fill="${colors.service}"/>
${text(34, 25, 'service')}
<rect x="100" y="14" width="12" height="12" fill="${colors.naked}"/>
${text(118, 25, 'naked: the same work without safety')}`;

function drawPanel({ queue, rows }: QueueResult, top: number): string {
  const title = `Queue on ${queue === 'redis' ? 'Redis' : 'PostgreSQL'}, per second`;
  const heading = text(16, top + 26, title, 'font-weight="600"');
  const drawn = rows.map((row, index) => drawRow(row, top + headHeight + index * rowHeight));
  return [heading, ...drawn].join('\n');
}

function drawRow({ title, servicePerSecond, nakedPerSecond, kept }: Row, top: number): string {
  const length = Math.min(longest, kept * nakedLength);
  return [
    text(16, top + barHeight + 5, title.replaceAll('`', '')),
    bar(top, length, colors.service),
    text(labelWidth + length + 6, top + 11, `${rate(servicePerSecond)} (${kept.toFixed(2)})`),
    bar(top + barHeight + 2, nakedLength, colors.naked),
    text(labelWidth + nakedLength + 6, top + barHeight + 13, rate(nakedPerSecond), `fill="${colors.muted}"`),
  ].join('\n');
}

function bar(top: number, length: number, fill: string): string {
  return `<rect x="${labelWidth}" y="${top}" width="${length.toFixed(1)}" height="${barHeight}" fill="${fill}"/>`;
}

function text(x: number, y: number, content: string, attributes = `fill="${colors.text}"`): string {
  return `<text x="${x.toFixed(0)}" y="${y}" ${attributes}>${content}</text>`;
}

function rate(perSecond: number): string {
  return Math.round(perSecond).toLocaleString('en');
}

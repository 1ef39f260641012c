import { type ScaleBand, type ScaleLinear, scaleBand, scaleLinear } from 'd3-scale';
import { useAddress } from '../http/access.ts';
import { List } from './list.tsx';

/** A bar, such as a day, with a number for each series. */
interface Bar {
  /** Unique; shown below some of the bars. */
  label: string;
  values: Readonly<Record<string, number>>;
  /** What the bar counts. */
  to: string;
}

interface BarChartProps {
  /** For screen readers. */
  title: string;
  bars: readonly Bar[];
  /** From bottom to top, colored by the style sheet. */
  series: readonly { name: string; label: string }[];
  format: (value: number) => string;
  /** Formats a value for the axis; `format` by default. */
  formatShort?: (value: number) => string;
  /** What a bar stands for, such as `Day`: the title of its column in the table. */
  unit: string;
}

// The axis is at the right, beside the latest bars: where the chart is wider than its place, the end shows first.
const size = { width: 560, height: 222, left: 4, right: 46, top: 26, bottom: 22 };
const ticksWanted = 4;
const labelsWanted = 7;
const widestBar = 36;

/** Stacked bars as SVG, whose values show on hover and focus (the arrow keys move it), and as a table. */
export function BarChart(props: BarChartProps) {
  const { title, bars, series } = props;
  const x = scaleBand(
    bars.map(({ label }) => label),
    [size.left, size.width - size.right],
  );
  const greatest = Math.max(1, ...bars.map(totalOf));
  const y = scaleLinear([0, greatest], [size.height - size.bottom, size.top]).nice(ticksWanted);
  return (
    <figure class="stack-tight">
      <div class="chart-scroll">
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be part of a picture. */}
        <svg class="chart" viewBox={`0 0 ${size.width} ${size.height}`} role="group" aria-label={title}>
          <Grid {...props} y={y} />
          {bars.map((bar, index) => (
            <OneBar key={bar.label} {...props} {...{ bar, index, x, y }} />
          ))}
        </svg>
      </div>
      <Legend series={series} />
      <AsTable {...props} />
    </figure>
  );
}

type Scale = ScaleLinear<number, number>;

/** Horizontal lines with their values. They are at whole numbers if all values of the bars are. */
function Grid({ bars, format, formatShort = format, y }: BarChartProps & { y: Scale }) {
  const isWhole = bars.every(({ values }) => Object.values(values).every(Number.isInteger));
  const ticks = y.ticks(ticksWanted).filter((tick) => !isWhole || Number.isInteger(tick));
  return (
    <g>
      {ticks.map((tick) => (
        <g key={tick}>
          <line class="grid-line" x1={size.left} x2={size.width - size.right} y1={y(tick)} y2={y(tick)} />
          <text x={size.width - size.right + 6} y={y(tick)} dy="0.32em">
            {formatShort(tick)}
          </text>
        </g>
      ))}
    </g>
  );
}

interface OneBarProps extends BarChartProps {
  bar: Bar;
  index: number;
  x: ScaleBand<string>;
  y: Scale;
}

function OneBar({ bar, bars, index, series, format, x, y }: OneBarProps) {
  const start = x(bar.label) ?? 0;
  const width = Math.min(x.bandwidth() * 0.75, widestBar);
  const middle = start + x.bandwidth() / 2;
  const words = wordsOf(bar, series, format);
  // The last ones, so that today's has one.
  const hasLabel = (bars.length - 1 - index) % Math.ceil(bars.length / labelsWanted) === 0;
  const isLast = index === bars.length - 1;
  let top = 0;
  return (
    // Only one bar is reached by Tab; the script moves on with the arrow keys.
    <a class="bar" href={useAddress(bar.to)} aria-label={words} tabIndex={isLast ? 0 : -1}>
      <rect
        class="reach"
        x={rounded(start)}
        width={rounded(x.bandwidth())}
        y={size.top}
        height={y(0) - size.top}
      />
      {series.map(({ name }) => {
        const bottom = top;
        top += bar.values[name] ?? 0;
        if (top === bottom) return null;
        return (
          <rect
            key={name}
            data-series={name}
            x={rounded(middle - width / 2)}
            width={rounded(width)}
            y={rounded(y(top))}
            height={rounded(y(bottom) - y(top))}
          />
        );
      })}
      {hasLabel ? (
        <text
          x={rounded(isLast ? start + x.bandwidth() : middle)}
          y={size.height - 6}
          text-anchor={isLast ? 'end' : 'middle'}
        >
          {bar.label}
        </text>
      ) : null}
      <text class="values" x={size.width - size.right} y={11} text-anchor="end">
        {words}
      </text>
    </a>
  );
}

/** The numbers of the chart, without empty bars. */
function AsTable({ title, bars, series, format, unit }: BarChartProps) {
  return (
    <details class="more">
      <summary class="small muted">Show as table</summary>
      <List
        caption={title}
        isInCard
        items={bars.filter((bar) => totalOf(bar) > 0)}
        columns={[
          [unit, ({ label }) => label],
          ...series.map(
            ({ name, label }) => [label, ({ values }: Bar) => format(values[name] ?? 0), 'number'] as const,
          ),
        ]}
      />
    </details>
  );
}

function Legend({ series }: Pick<BarChartProps, 'series'>) {
  return (
    <ul class="legend">
      {series.map(({ name, label }) => (
        <li key={name}>
          <svg class="chart" viewBox="0 0 10 10" aria-hidden="true">
            <rect data-series={name} width="10" height="10" rx="2" />
          </svg>
          {label}
        </li>
      ))}
    </ul>
  );
}

/** A coordinate to a hundredth. Further digits would double the size of the page. */
function rounded(coordinate: number): number {
  return Math.round(coordinate * 100) / 100;
}

function totalOf({ values }: Bar): number {
  return Object.values(values).reduce((sum, value) => sum + value, 0);
}

/** "21 Nov: Completed 12, Failed 1". */
function wordsOf(
  { label, values }: Bar,
  series: BarChartProps['series'],
  format: BarChartProps['format'],
): string {
  const parts = series.flatMap(({ name, label }) =>
    values[name] ? [`${label} ${format(values[name])}`] : [],
  );
  return `${label}: ${parts.join(', ') || 'none'}`;
}

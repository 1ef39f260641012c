import { type ScaleBand, type ScaleLinear, scaleBand, scaleLinear } from 'd3-scale';
import { Table } from '../layout/table.tsx';

/** A bar, such as a day, with a number for each series. */
export interface Bar {
  /** Shown below a few of the bars. */
  label: string;
  values: Readonly<Record<string, number>>;
}

export interface StackedBarsProps {
  /** For screen readers. */
  title: string;
  bars: readonly Bar[];
  /** From bottom to top, colored by the style sheet. */
  series: readonly { name: string; label: string }[];
  /** Formats a value. */
  format: (value: number) => string;
  /** Formats a value for the axis; `format` by default. */
  formatShort?: (value: number) => string;
  /** What a bar stands for, such as `Day`: the title of its column in the table. */
  unit: string;
}

const size = { width: 720, height: 220, left: 52, right: 4, top: 10, bottom: 22 };
const ticksWanted = 4;
const labelsWanted = 8;

/** Stacked bars of several series, as SVG with a table of the numbers. */
export function StackedBars(props: StackedBarsProps) {
  const { title, bars, series } = props;
  const x = scaleBand(
    bars.map(({ label }) => label),
    [size.left, size.width - size.right],
  ).padding(0.25);
  const greatest = Math.max(1, ...bars.map(totalOf));
  const y = scaleLinear([0, greatest], [size.height - size.bottom, size.top]).nice(ticksWanted);
  const labelEvery = Math.ceil(bars.length / labelsWanted);
  return (
    <figure class="stack-tight">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on a phone, and keys scroll only what has the focus. */}
      <section class="chart-scroll" aria-label={title} tabIndex={0}>
        <svg class="chart" viewBox={`0 0 ${size.width} ${size.height}`} aria-hidden="true">
          <Grid {...props} y={y} />
          {bars.map((bar, index) => (
            <g key={bar.label}>
              <OneBar {...props} {...{ bar, x, y }} />
              {index % labelEvery === 0 ? (
                <text
                  x={(x(bar.label) ?? 0) + x.bandwidth() / 2}
                  y={size.height - 6}
                  text-anchor={index === 0 ? 'start' : 'middle'}
                >
                  {bar.label}
                </text>
              ) : null}
            </g>
          ))}
        </svg>
      </section>
      <Legend series={series} />
      <AsTable {...props} />
    </figure>
  );
}

type Scale = ScaleLinear<number, number>;

/** Horizontal lines with their values. They are at whole numbers if all values of the bars are. */
function Grid({ bars, format, formatShort = format, y }: StackedBarsProps & { y: Scale }) {
  const isWhole = bars.every(({ values }) => Object.values(values).every(Number.isInteger));
  const ticks = y.ticks(ticksWanted).filter((tick) => !isWhole || Number.isInteger(tick));
  return (
    <>
      {ticks.map((tick) => (
        <g key={tick}>
          <line class="grid-line" x1={size.left} x2={size.width - size.right} y1={y(tick)} y2={y(tick)} />
          <text x={size.left - 6} y={y(tick)} dy="0.32em" text-anchor="end">
            {formatShort(tick)}
          </text>
        </g>
      ))}
    </>
  );
}

interface OneBarProps extends StackedBarsProps {
  bar: Bar;
  x: ScaleBand<string>;
  y: Scale;
}

function OneBar({ bar, series, format, x, y }: OneBarProps) {
  const place = { x: x(bar.label), width: x.bandwidth() };
  let top = 0;
  return (
    <>
      {series.map(({ name }) => {
        const bottom = top;
        top += bar.values[name] ?? 0;
        return <rect key={name} data-series={name} {...place} y={y(top)} height={y(bottom) - y(top)} />;
      })}
      {/* Invisible and as high as the chart, so that the tooltip shows above low bars too. */}
      <rect {...place} y={size.top} height={size.height - size.top - size.bottom} fill="transparent">
        <title>{wordsOf(bar, series, format)}</title>
      </rect>
    </>
  );
}

/** The numbers of the chart, without empty bars. */
function AsTable({ title, bars, series, format, unit }: StackedBarsProps) {
  return (
    <details class="more">
      <summary class="small muted">Show as table</summary>
      <div class="table-scroll">
        <Table
          caption={title}
          columns={[
            { title: unit },
            ...series.map(({ label }) => ({ title: label, kind: 'number' as const })),
          ]}
          rows={bars
            .filter((bar) => totalOf(bar) > 0)
            .map(({ label, values }) => ({
              key: label,
              cells: [label, ...series.map(({ name }) => format(values[name] ?? 0))],
            }))}
        />
      </div>
    </details>
  );
}

function Legend({ series }: Pick<StackedBarsProps, 'series'>) {
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

function totalOf({ values }: Bar): number {
  return Object.values(values).reduce((sum, value) => sum + value, 0);
}

function wordsOf(bar: Bar, series: StackedBarsProps['series'], format: StackedBarsProps['format']): string {
  const parts = series
    .filter(({ name }) => (bar.values[name] ?? 0) > 0)
    .map(({ name, label }) => `${label} ${format(bar.values[name] ?? 0)}`);
  return `${bar.label}: ${parts.join(', ') || 'none'}`;
}

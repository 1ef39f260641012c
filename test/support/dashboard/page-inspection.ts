import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';
import { isRelease } from '../release.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const screenshots = join(import.meta.dirname, '../../output/screenshots');

/** Serious and critical accessibility violations of the page, one line each. */
export async function accessibilityProblems(page: Page, options: RunOptions = {}): Promise<string[]> {
  // Evaluated through the debugger, because the content policy blocks foreign scripts.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const run = `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], ...options })})`;
  const { violations } = (await page.evaluate(run)) as AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target}: ${failureSummary}`),
    );
}

/** By how many pixels the page is wider than the window. */
export async function overflowOf(page: Page): Promise<number> {
  return await page.evaluate(() => {
    const { scrollWidth = 0, clientWidth = 0 } = document.scrollingElement ?? {};
    return Math.max(0, scrollWidth - clientWidth);
  });
}

/**
 * The cumulative layout shift of the page before its first input; people notice 0.1. What an input moves counts as expected for half a
 * second only, and a busy machine may take longer.
 */
export async function layoutShiftOf(page: Page): Promise<number> {
  return await page.evaluate(async () => {
    const entriesOf = (type: string) =>
      new Promise<PerformanceEntry[]>((resolve) => {
        new PerformanceObserver((list, observer) => {
          observer.disconnect();
          resolve(list.getEntries());
        }).observe({ type, buffered: true });
        // The observer is not called for a page without such entries.
        setTimeout(() => resolve([]), 100);
      });
    const [input] = await entriesOf('first-input');
    const shifts = (await entriesOf('layout-shift')) as (PerformanceEntry & { value: number })[];
    return shifts
      .filter(({ startTime }) => startTime < (input?.startTime ?? Number.POSITIVE_INFINITY))
      .reduce((sum, { value }) => sum + value, 0);
  });
}

/** Parts of the page that cannot be read: cut off where no scrolling leads, and buttons with a word broken into lines. */
export async function unreadableParts(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const nameOf = (element: Element) => `${element.localName}.${element.getAttribute('class') ?? ''}`;
    const found: string[] = [];
    for (const box of document.querySelectorAll('body *')) {
      const bounds = box.getBoundingClientRect();
      // Visually hidden elements are one pixel wide.
      const { overflow, direction } = getComputedStyle(box);
      if (overflow === 'visible' || bounds.width <= 1) continue;
      for (const child of box.children) {
        const { left, right, top, width } = child.getBoundingClientRect();
        // Content before the start of a box cannot be scrolled to; right-to-left boxes start on the right.
        const isBefore = direction === 'rtl' ? right > bounds.right + 1 : left < bounds.left - 1;
        if (width > 1 && (isBefore || top < bounds.top - 1)) {
          found.push(`${nameOf(child)} is cut off by ${nameOf(box)}`);
        }
      }
    }
    for (const button of document.querySelectorAll('.button')) {
      const [text] = button.childNodes;
      if (text?.nodeType !== Node.TEXT_NODE) continue;
      const range = document.createRange();
      range.selectNode(text);
      const lines = new Set([...range.getClientRects()].map(({ top }) => top)).size;
      const words = text.textContent?.trim().split(/\s+/) ?? [];
      if (lines > words.length) found.push(`${words.join(' ')} is broken into ${lines} lines`);
    }
    return found;
  });
}

/** Saves a screenshot of the whole page, before a release. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (!isRelease) return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}

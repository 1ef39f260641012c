import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const screenshots = join(import.meta.dirname, '../output/screenshots');

/** What keeps people from using the page as it is shown now, one line each: serious and critical violations only. */
export async function accessibilityProblems(page: Page, options: RunOptions = {}): Promise<string[]> {
  // Evaluated by the browser's own means: the page's policy lets no foreign script run in it.
  await page.evaluate(axeSource);
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target}: ${failureSummary}`),
    );
}

/** By how many pixels the page is wider than the window; 0 for a page that is as it should be. */
export async function overflowOf(page: Page): Promise<number> {
  return await page.evaluate(() => {
    const { scrollWidth = 0, clientWidth = 0 } = document.scrollingElement ?? {};
    return Math.max(0, scrollWidth - clientWidth);
  });
}

/** Keeps a picture of the whole page, for people to look at. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}

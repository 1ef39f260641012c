import type { DashboardVisitor, Page } from './dashboard-visitor.ts';

/** Uploads a CSV file for review. @param base the path of the environment. */
export const reviewUpload = async (visitor: DashboardVisitor, base: string, file: string): Promise<Page> =>
  await visitor.post(`${base}/batches/new`, { file });

/** The file as a page carries it for the next step; empty for none. */
export const sealedIn = ({ text }: Page): string => /name="upload" value="([^"]+)"/.exec(text)?.[1] ?? '';

/** Creates the refunds that a review has shown. */
export const sendReviewed = async (visitor: DashboardVisitor, base: string, reviewed: Page): Promise<Page> =>
  await visitor.post(`${base}/batches/new/create`, { upload: sealedIn(reviewed) });

/** Uploads a CSV file, reviews it and creates its refunds. One that was uploaded before leads to its batch at once. */
export async function uploadBatch(visitor: DashboardVisitor, base: string, file: string): Promise<Page> {
  const reviewed = await reviewUpload(visitor, base, file);
  return reviewed.status === 303 ? reviewed : await sendReviewed(visitor, base, reviewed);
}

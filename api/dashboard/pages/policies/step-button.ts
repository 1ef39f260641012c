import type { Context } from '../../http/access.ts';

/** Where the editor tells why a step could not be taken. */
export const editorToldId = 'editor-told';

/**
 * What makes a button of the editor take a step: it sends all that was entered, and the answer is the editor after it. Where
 * scripts run it takes the place of the editor in the page; what cannot be answered leaves there what was entered.
 */
export function stepButton({ base }: Context, step: string) {
  const to = `${base}/policies/edit`;
  return {
    type: 'submit',
    name: 'step',
    value: step,
    formAction: to,
    formNoValidate: true,
    'hx-post': to,
    'hx-target': '#editor',
    'hx-swap': 'outerHTML',
    'hx-sync': 'drop',
    'hx-status:400': 'swap:outerHTML',
    'hx-status:4xx': `target:#${editorToldId} swap:innerHTML`,
    'hx-status:5xx': `target:#${editorToldId} swap:innerHTML`,
  } as const;
}

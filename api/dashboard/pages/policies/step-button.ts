import type { Context } from '../../access.ts';
import type { StepName } from './draft-steps.ts';

/** What of the policy at this place somebody goes on with after a step; of the list as a whole after one was removed. */
export interface EditorFocus {
  on: 'name' | 'metadata' | 'up' | 'down' | 'add';
  at: number;
}

/** Where somebody goes on after a step, with the policy that it was about in this place now. */
export function focusAfter(name: StepName, at: number, count: number): EditorFocus {
  switch (name) {
    case 'add':
      return { on: 'name', at };
    case 'remove':
      return { on: 'add', at };
    case 'metadata':
      return { on: 'metadata', at };
    // At an end of the list there is no button to go further.
    case 'up':
      return { on: at === 0 ? 'down' : 'up', at };
    case 'down':
      return { on: at === count - 1 ? 'up' : 'down', at };
  }
}

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

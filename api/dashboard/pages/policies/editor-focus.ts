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

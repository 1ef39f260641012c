/** A reason not to start that the person at the keyboard can do something about; told in one line, without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

// Errors that the page shows to the user.

/** A request that the server refused; `status` is 0 if no server answered. */
export class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

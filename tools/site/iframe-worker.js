// Browsers start no worker from a file. Where the site is opened from a folder, its search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.scope = new Promise((resolve, reject) => {
        const frame = document.createElement("iframe");
        frame.hidden = true;
        frame.srcdoc = "<!doctype html>";
        frame.onload = () => {
          const scope = frame.contentWindow;
          scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = scope.document.createElement("script");
          script.onload = () => resolve(scope);
          script.onerror = reject;
          script.src = url;
          scope.document.head.append(script);
        };
        document.body.append(frame);
      });
    }
    postMessage(data) {
      this.scope.then(scope => scope.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}

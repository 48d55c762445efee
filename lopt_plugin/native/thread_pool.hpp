// Worker threads for one prompt or batch: started when first needed, shared by all callers, made anew after a fork.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <unistd.h>

namespace lopt {

class ThreadPool {
  public:
    ThreadPool() = default;
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    ~ThreadPool() {
        Crew* crew = crew_.load();
        if (crew && crew->process == getpid()) delete crew;
    }

    // Calls work(i) for every i below count, on the caller and at most threads - 1 workers; returns when all are done.
    // The first exception is thrown again here.
    void run(size_t count, size_t threads, const std::function<void(size_t)>& work) {
        if (threads < 2 || count < 2) {
            for (size_t i = 0; i < count; i++) work(i);
            return;
        }
        const auto job = std::make_shared<Job>(count, &work);
        crew().offer(job, std::min(threads, count) - 1);
        job->take_part();
        job->wait();
        if (job->error) std::rethrow_exception(job->error);
    }

  private:
    struct Job {
        Job(size_t n, const std::function<void(size_t)>* f) : count(n), work(f) {}

        void take_part() {
            for (;;) {
                const size_t i = next.fetch_add(1);
                if (i >= count) return;
                try {
                    (*work)(i);
                } catch (...) {
                    const std::lock_guard<std::mutex> lock(mutex);
                    if (!error) error = std::current_exception();
                }
                // Under the lock, so that the waiting caller cannot miss the last one.
                const std::lock_guard<std::mutex> lock(mutex);
                if (++done == count) finished.notify_all();
            }
        }
        void wait() {
            std::unique_lock<std::mutex> lock(mutex);
            finished.wait(lock, [this] { return done == count; });
        }

        const size_t count;
        const std::function<void(size_t)>* work;  // alive until all items are done: nobody calls it later
        std::atomic<size_t> next{0};
        std::mutex mutex;
        std::condition_variable finished;
        size_t done = 0;
        std::exception_ptr error;
    };

    struct Crew {
        const pid_t process = getpid();
        std::mutex mutex;
        std::condition_variable wake;
        std::deque<std::shared_ptr<Job>> jobs;  // one element for each worker that may still join
        std::vector<std::thread> workers;
        size_t idle = 0;
        bool stopping = false;

        ~Crew() {
            {
                const std::lock_guard<std::mutex> lock(mutex);
                stopping = true;
            }
            wake.notify_all();
            for (auto& worker : workers) worker.join();
        }
        void offer(const std::shared_ptr<Job>& job, size_t helpers) {
            constexpr size_t MOST_WORKERS = 1024;
            const std::lock_guard<std::mutex> lock(mutex);
            for (size_t i = 0; i < helpers; i++) jobs.push_back(job);
            // A system that grants no more threads slows us down, nothing else: the caller does the work itself.
            try {
                while (workers.size() < MOST_WORKERS && idle < jobs.size() && workers.size() < helpers) {
                    workers.emplace_back([this] { serve(); });
                    idle++;
                }
            } catch (const std::system_error&) {
            }
            wake.notify_all();
        }
        void serve() {
            std::unique_lock<std::mutex> lock(mutex);
            for (;;) {
                wake.wait(lock, [this] { return stopping || !jobs.empty(); });
                if (stopping) return;
                const std::shared_ptr<Job> job = std::move(jobs.front());
                jobs.pop_front();
                idle--;
                lock.unlock();
                job->take_part();
                lock.lock();
                idle++;
            }
        }
    };

    Crew& crew() {
        Crew* current = crew_.load();
        if (current && current->process == getpid()) return *current;
        // First use, or a child process: the parent's crew has no threads here, and its mutex may be held for ever, so
        // it is left alone.
        auto fresh = std::make_unique<Crew>();
        if (crew_.compare_exchange_strong(current, fresh.get())) return *fresh.release();
        return current && current->process == getpid() ? *current : crew();
    }

    std::atomic<Crew*> crew_{nullptr};
};

}  // namespace lopt
